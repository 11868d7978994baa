SELECT count(*) FROM Ship	harbor
SELECT name , country FROM Port ORDER BY depth DESC	harbor
SELECT DISTINCT type FROM Ship WHERE tonnage > 5000	harbor
SELECT name FROM Ship WHERE type = 'tanker' AND built < 1990	harbor
SELECT name FROM Ship WHERE type = "tanker" OR type = "ferry"	harbor
SELECT T2.name , count(*) FROM Ship AS T1 JOIN Port AS T2 ON T1.home_port_id = T2.id GROUP BY T1.home_port_id	harbor
SELECT T2.name FROM Ship AS T1 JOIN Owner AS T2 ON T1.owner_id = T2.id GROUP BY T2.id HAVING count(*) >= 3	harbor
SELECT T1.name FROM Ship AS T1 JOIN Captain AS T2 ON T1.id = T2.ship_id WHERE T2.age > 40 ORDER BY T2.age LIMIT 1	harbor
SELECT avg(tonnage) , max(built) , min(built) FROM Ship WHERE type != 'ferry'	harbor
SELECT type , avg(tonnage) FROM Ship GROUP BY type HAVING avg(tonnage) > 1000 AND count(*) > 1	harbor
SELECT name FROM Ship WHERE id NOT IN (SELECT ship_id FROM Voyage)	harbor
SELECT name FROM Ship WHERE id IN (SELECT ship_id FROM Voyage WHERE year BETWEEN 1990 AND 2000)	harbor
SELECT name FROM Captain WHERE age > (SELECT avg(age) FROM Captain)	harbor
SELECT name FROM Captain WHERE name LIKE '%son%' AND rank = 2	harbor
SELECT country FROM Port UNION SELECT country FROM Owner	harbor
SELECT id FROM Ship EXCEPT SELECT ship_id FROM Voyage	harbor
SELECT T1.name FROM Port AS T1 JOIN Voyage AS T2 ON T1.id = T2.from_port_id WHERE T2.year = 1999 INTERSECT SELECT T1.name FROM Port AS T1 JOIN Voyage AS T2 ON T1.id = T2.to_port_id WHERE T2.year = 1999	harbor
SELECT count(DISTINCT cargo) FROM Voyage	harbor
SELECT T1.name , T3.name FROM Ship AS T1 JOIN Voyage AS T2 ON T1.id = T2.ship_id JOIN Captain AS T3 ON T2.captain_id = T3.id	harbor
SELECT year , count(*) FROM Voyage GROUP BY year ORDER BY count(*) DESC LIMIT 1	harbor
SELECT name FROM Ship WHERE NOT type = 'ferry'	harbor
SELECT name FROM Ship WHERE type NOT LIKE 'f%'	harbor
SELECT max(tonnage) - min(tonnage) FROM Ship	harbor
SELECT count(*) FROM (SELECT ship_id FROM Voyage GROUP BY ship_id HAVING count(*) > 2)	harbor
SELECT name , built FROM Ship WHERE tonnage > 100 AND tonnage < 900 OR type = 'tug'	harbor
SELECT T1.rank , T1.name FROM Captain AS T1 JOIN Pilot AS T2 ON T1.id = T2.captain_id JOIN Port AS T3 ON T2.port_id = T3.id WHERE T3.country = 'Norway' AND T2.licensed > 2001	harbor
SELECT T1.country FROM Owner AS T1 JOIN Ship AS T2 ON T1.id = T2.owner_id GROUP BY T1.country ORDER BY sum(T2.tonnage) DESC LIMIT 3	harbor
SELECT name FROM Owner WHERE id NOT IN (SELECT T1.owner_id FROM Ship AS T1 JOIN Voyage AS T2 ON T1.id = T2.ship_id WHERE T2.cargo = "salt")	harbor
SELECT value_estimate FROM Ship WHERE value_estimate > 1000	harbor
SELECT type , home_port_id , count(*) FROM Ship GROUP BY type , home_port_id	harbor
SELECT name FROM Port WHERE depth BETWEEN 5 AND 12 ORDER BY name ASC	harbor
SELECT count(*) , T2.country FROM Voyage AS T1 JOIN Port AS T2 ON T1.to_port_id = T2.id WHERE T1.cargo = 'grain' GROUP BY T2.country HAVING count(*) > 5 ORDER BY T2.country	harbor
SELECT name FROM Ship WHERE tonnage = (SELECT max(tonnage) FROM Ship WHERE type = 'tug')	harbor
SELECT T1.name FROM Captain AS T1 WHERE T1.age = 30 UNION SELECT T1.name FROM Owner AS T1 WHERE T1.country = "Malta"	harbor
SELECT * FROM Ship	harbor
SELECT T1.* , T2.name FROM Ship AS T1 JOIN Port AS T2	harbor
SELECT name FROM Ship ORDER BY built , tonnage DESC	harbor
SELECT id FROM all WHERE none = 3	odd
SELECT list.id FROM all JOIN list ON all.id = list.id	odd
SELECT all.id , list.order FROM all JOIN list ON all.none = list.order GROUP BY list.order	odd
SELECT max(count) FROM max WHERE id > 3	odd
SELECT nan FROM all WHERE nan = nan ORDER BY id	odd
SELECT * FROM t.c	odd
SELECT id FROM max WHERE id IN (SELECT id FROM list WHERE Value = 'x')	odd
SELECT count(*) FROM max , list	odd
SELECT cannot FROM max	odd
SELECT count FROM max GROUP BY count HAVING max(count) > 2	odd
SELECT * FROM (SELECT id FROM all WHERE id = nan)	odd
SELECT * FROM (SELECT id FROM all WHERE id = 1 OR none > 2)	odd
